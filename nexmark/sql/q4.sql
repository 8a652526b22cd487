-- The average winning price of closed auctions, by category, rounded down. Sums are decimals, which hold any sum of bids.
WITH winner AS (
    SELECT auction.id, auction.category, CAST(max(bid.price) AS DECIMAL(20, 0)) AS price
    FROM auction JOIN bid ON bid.auction = auction.id
    WHERE bid.price >= auction.reserve AND bid.date_time >= auction.date_time AND bid.date_time < auction.expires
    GROUP BY auction.id, auction.category
)
SELECT category, (sum(price) - pmod(sum(price), count(*))) DIV count(*) AS average, count(*) AS count
FROM winner GROUP BY category
