-- Puts back a ban that Redis does not know of.
-- KEYS: conduct of the key, bans
-- ARGV: end of the ban in Unix seconds, its level, "key:account"[, now]
local now = now_ms(ARGV[4])
local from, till, known = conduct_of(redis.call('GET', KEYS[1]))
local banned, level = tonumber(ARGV[1]), tonumber(ARGV[2])
if banned <= known then return 0 end
save_conduct(KEYS[1], from, till, banned, level, now)
if now < banned * 1000 then list_ban(KEYS[2], ARGV[3], banned, level, now) end
return 1
