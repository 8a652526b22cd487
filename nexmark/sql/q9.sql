-- The winning bid of each auction: the highest, then the earliest, then the first of the staged events.
WITH ranked AS (
    SELECT auction.*, bid.bidder, bid.price, bid.date_time AS bid_time,
        row_number() OVER (PARTITION BY auction.id ORDER BY bid.price DESC, bid.date_time, bid.event) AS place
    FROM auction JOIN bid ON bid.auction = auction.id
    WHERE bid.date_time BETWEEN auction.date_time AND auction.expires
)
SELECT id, seller, category, reserve, initial_bid, date_time, expires, bidder, price, bid_time FROM ranked WHERE place = 1
