-- KEYS: bans
-- ARGV: [now]
return redis.call('ZRANGE', KEYS[1], '(' .. text(math.floor(now_ms(ARGV[1]) / 1000)), '+inf', 'BYSCORE', 'WITHSCORES')
