-- Of each minute, every second, the auction with the most bids; of several the one with the least number.
-- A bid counts in the 60 windows that its second is part of. ~ turns the order of integers around, and overflows nowhere.
WITH by_second AS (
    SELECT auction, date_time DIV 1000000000 AS second, count(*) AS bids FROM bid GROUP BY 1, 2
), by_window AS (
    SELECT auction, window_end, sum(bids) AS bids
    FROM by_second LATERAL VIEW explode(sequence(second + 1, second + 60)) AS window_end
    GROUP BY auction, window_end
), hottest AS (
    SELECT window_end, max(struct(bids, ~auction AS reversed)) AS most FROM by_window GROUP BY window_end
)
SELECT window_end * 1000000000 AS window_end, ~most.reversed AS auction, most.bids AS bids FROM hottest
