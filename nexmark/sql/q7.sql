-- The highest price of each window of 10 s.
SELECT (date_time DIV 10000000000 + 1) * 10000000000 AS window_end, max(price) AS price FROM bid GROUP BY 1
