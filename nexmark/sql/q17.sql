-- An auction's bids a day: how many at three levels of price, and their least, greatest, average (rounded down) and sum.
SELECT auction, date_time DIV 86400000000000 AS day,
    count(*) AS total_bids,
    count_if(price < 10000) AS rank1_bids,
    count_if(price >= 10000 AND price < 1000000) AS rank2_bids,
    count_if(price >= 1000000) AS rank3_bids,
    min(price) AS min_price,
    max(price) AS max_price,
    (sum(CAST(price AS DECIMAL(20, 0))) - pmod(sum(CAST(price AS DECIMAL(20, 0))), count(*))) DIV count(*) AS avg_price,
    CAST(sum(CAST(price AS DECIMAL(20, 0))) AS BIGINT) AS sum_price
FROM bid GROUP BY 1, 2
