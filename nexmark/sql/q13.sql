-- Bids joined with a bounded table, which is made here.
WITH side AS (SELECT id AS key, concat('value-', id) AS value FROM range(10000))
SELECT bid.auction, bid.bidder, bid.price, bid.date_time, side.value
FROM bid JOIN side ON side.key = pmod(bid.auction, 10000)
