-- How many bids, bidders and auctions a channel has a day, at three levels of price, and the minute of its last bid.
SELECT channel, date_time DIV 86400000000000 AS day, max(date_time DIV 60000000000 % 1440) AS minute,
    count(*) AS total_bids,
    count_if(price < 10000) AS rank1_bids,
    count_if(price >= 10000 AND price < 1000000) AS rank2_bids,
    count_if(price >= 1000000) AS rank3_bids,
    count(DISTINCT bidder) AS total_bidders,
    count(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
    count(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders,
    count(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
    count(DISTINCT auction) AS total_auctions,
    count(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
    count(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions,
    count(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions
FROM bid GROUP BY 1, 2
