-- Bids of a certain price in another currency, rounded down, with the part of the day and the letters c in their text.
WITH converted AS (
    SELECT *, 0.908 * CAST(price AS DECIMAL(20, 0)) AS exact, date_time DIV 3600000000000 % 24 AS hour FROM bid
)
SELECT auction, bidder, CAST(floor(exact) AS BIGINT) AS price,
    CASE
        WHEN hour BETWEEN 8 AND 18 THEN 'dayTime'
        WHEN hour <= 6 OR hour >= 20 THEN 'nightTime'
        ELSE 'otherTime'
    END AS bid_time_type,
    date_time, extra,
    CAST(coalesce(length(extra) - length(replace(extra, 'c', '')), 0) AS BIGINT) AS c_counts
FROM converted WHERE exact > 1000000 AND exact < 50000000
