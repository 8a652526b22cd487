-- The last bid of each bidder for each auction: the latest, of several at once the first of the staged events.
WITH latest AS (
    SELECT max_by(bid, struct(date_time, -event)) AS last FROM (
        SELECT bidder, auction, date_time, event, struct(auction, bidder, price, channel, url, date_time) AS bid FROM bid)
    GROUP BY bidder, auction
)
SELECT last.* FROM latest
