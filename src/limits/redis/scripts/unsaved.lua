-- Returns up to 500 bans that PostgreSQL may lack, sorted by end, each followed by its end in Unix seconds.
-- KEYS: unsaved bans, clock
-- ARGV: time (see `present`)
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
local now, shown_by = present(KEYS[2], redis.call('GET', KEYS[2]), 1)
local bans = redis.call('ZRANGE', KEYS[1], 0, 499, 'WITHSCORES')
for index = 2, #bans, 2 do
  bans[index] = text(tonumber(bans[index]) + shown_by)
end
return bans
