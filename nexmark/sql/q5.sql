-- Of each minute, every second, the auction with the most bids; of several the one with the least number.
-- A bid counts in 60 windows, from the one that ends with its second. So an auction's count changes where bids come in
-- and where they drop out, and holds between. ~ turns the order of integers around, and overflows nowhere.
WITH by_second AS (
    SELECT auction, date_time DIV 1000000000 AS second, count(*) AS bids FROM bid GROUP BY 1, 2
), change AS (
    SELECT auction, second, sum(bids) AS bids FROM (
        SELECT auction, second + 1 AS second, bids FROM by_second
        UNION ALL
        SELECT auction, second + 61 AS second, -bids AS bids FROM by_second)
    GROUP BY auction, second
), held AS (
    SELECT auction, second, lead(second) OVER by_time AS until, sum(bids) OVER by_time AS bids
    FROM change WINDOW by_time AS (PARTITION BY auction ORDER BY second)
), hottest AS (
    SELECT window_end, max(struct(bids, ~auction AS reversed)) AS most
    FROM held LATERAL VIEW explode(sequence(second, until - 1)) AS window_end
    WHERE bids > 0 GROUP BY window_end
)
SELECT window_end * 1000000000 AS window_end, ~most.reversed AS auction, most.bids AS bids FROM hottest
