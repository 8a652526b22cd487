-- A bidder's bids in each session: a bid starts one that comes 10 s or more after the one before.
WITH marked AS (
    SELECT bidder, date_time, coalesce(date_time - lag(date_time) OVER by_time >= 10000000000, true) AS is_first
    FROM bid WINDOW by_time AS (PARTITION BY bidder ORDER BY date_time)
), numbered AS (
    SELECT bidder, date_time, count_if(is_first) OVER by_time AS session
    FROM marked WINDOW by_time AS (PARTITION BY bidder ORDER BY date_time)
)
SELECT bidder, count(*) AS bids, min(date_time) AS window_start, max(date_time) + 10000000000 AS window_end
FROM numbered GROUP BY bidder, session
