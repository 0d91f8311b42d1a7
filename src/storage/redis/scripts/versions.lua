-- Tells the versions; they are at least what an instance saw in PostgreSQL, should nobody have told Redis of a change.
-- KEYS: version of callers, version of pets
-- ARGV: of each what it is at least
local values = redis.call('MGET', KEYS[1], KEYS[2])
local versions = {}
for index, key in ipairs(KEYS) do
  versions[index] = math.max(version(values[index]), tonumber(ARGV[index]))
  if versions[index] > version(values[index]) then redis.call('SET', key, text(versions[index])) end
end
return versions
