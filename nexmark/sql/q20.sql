-- Bids with their auctions, of one category.
SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, bid.date_time,
    auction.item_name, auction.description, auction.initial_bid, auction.reserve,
    auction.date_time AS auction_time, auction.expires, auction.seller, auction.category
FROM bid JOIN auction ON auction.id = bid.auction
WHERE auction.category = 10
