-- Returns the current bans, each followed by its end in Unix seconds.
-- KEYS: bans, clock
-- ARGV: time (see `present`)
local now, shown_by = present(KEYS[2], redis.call('GET', KEYS[2]), 1)
local bans = redis.call('ZRANGE', KEYS[1], '(' .. text(math.floor(now / 1000)), '+inf', 'BYSCORE', 'WITHSCORES')
for index = 2, #bans, 2 do
  bans[index] = text(tonumber(bans[index]) + shown_by)
end
return bans
