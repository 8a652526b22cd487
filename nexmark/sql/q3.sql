-- Who sells in one category, of those who live in three states.
SELECT person.name, person.city, person.state, auction.id
FROM auction JOIN person ON person.id = auction.seller
WHERE auction.category = 10 AND person.state IN ('OR', 'ID', 'CA')
