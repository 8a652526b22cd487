-- The bids for one auction in 123.
SELECT auction, price FROM bid WHERE auction % 123 = 0
