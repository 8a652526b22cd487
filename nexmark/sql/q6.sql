-- The average winning price of each seller's last ten closed auctions, rounded down.
WITH winner AS (
    SELECT auction.id, auction.seller, auction.expires, CAST(max(bid.price) AS DECIMAL(20, 0)) AS price
    FROM auction JOIN bid ON bid.auction = auction.id
    WHERE bid.price >= auction.reserve AND bid.date_time >= auction.date_time AND bid.date_time < auction.expires
    GROUP BY auction.id, auction.seller, auction.expires
), numbered AS (
    SELECT seller, price, row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) AS back FROM winner
)
SELECT seller, (sum(price) - pmod(sum(price), count(*))) DIV count(*) AS average, count(*) AS count
FROM numbered WHERE back <= 10 GROUP BY seller
