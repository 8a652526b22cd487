-- Bids with their channel's number, where there is one: four are known by name, others tell theirs in the url.
WITH identified AS (
    SELECT auction, bidder, price, channel,
        CASE
            WHEN lower(channel) = 'apple' THEN '0'
            WHEN lower(channel) = 'google' THEN '1'
            WHEN lower(channel) = 'facebook' THEN '2'
            WHEN lower(channel) = 'baidu' THEN '3'
            WHEN url RLIKE '(&|^)channel_id=' THEN regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)
        END AS channel_id
    FROM bid
)
SELECT auction, bidder, price, channel, channel_id FROM identified WHERE channel_id IS NOT NULL
