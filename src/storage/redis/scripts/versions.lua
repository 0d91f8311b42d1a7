-- KEYS: version of callers, version of pets
local values = redis.call('MGET', KEYS[1], KEYS[2])
return { version(KEYS[1], values[1]), version(KEYS[2], values[2]) }
