-- Bids with their prices in euros. Decimals are exact, so floor rounds down what is negative too.
SELECT auction, bidder, CAST(floor(0.89 * CAST(price AS DECIMAL(20, 0))) AS BIGINT) AS price, date_time FROM bid
