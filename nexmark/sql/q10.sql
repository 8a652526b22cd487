-- Bids with the day and the minute that their partition is named for.
SELECT auction, bidder, price, date_time, extra,
    date_format(timestamp_seconds(date_time DIV 1000000000), 'yyyy-MM-dd') AS dt,
    date_format(timestamp_seconds(date_time DIV 1000000000), 'HH:mm') AS hm
FROM bid
