-- Returns the identity of this server. A server without an identity adopts the proposed one.
-- KEYS: identity
-- ARGV: the proposed identity
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
