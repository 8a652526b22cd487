-- The ten highest bids of each auction; of equal ones the earliest, then the first of the staged events.
WITH ranked AS (
    SELECT auction, bidder, price, date_time,
        row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time, event) AS rank
    FROM bid
)
SELECT auction, CAST(rank AS BIGINT) AS rank, price, bidder, date_time FROM ranked WHERE rank <= 10
