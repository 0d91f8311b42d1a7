-- Tells the versions; they are at least what an instance saw in PostgreSQL, should nobody have told Redis of a change.
-- They are written also as they were: a Redis that takes no writes cannot count either, and says so here.
-- KEYS: versions of resources
-- ARGV: of each what it is at least
local values = redis.call('MGET', unpack(KEYS))
local versions = {}
for index, key in ipairs(KEYS) do
  versions[index] = math.max(version(values[index]), tonumber(ARGV[index]))
  redis.call('SET', key, text(versions[index]))
end
return versions
