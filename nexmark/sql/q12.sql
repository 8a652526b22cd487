-- A bidder's bids. Windows of processing time are nobody's to foretell: what can be compared is their sum.
SELECT bidder, count(*) AS bids FROM bid GROUP BY bidder
