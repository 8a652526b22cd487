-- Who has opened an auction within twelve hours of coming.
SELECT person.id AS person, auction.id AS auction, auction.date_time
FROM person JOIN auction ON auction.seller = person.id
WHERE auction.date_time >= person.date_time AND auction.date_time < person.date_time + 43200000000000
