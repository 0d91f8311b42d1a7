-- Puts back a ban that Redis does not know of.
-- KEYS: conduct of the key, bans
-- ARGV: end of the ban in Unix seconds, its level, "key:account"[, now]
local now = now_ms(ARGV[4])
local conduct = conduct_of(redis.call('GET', KEYS[1]))
local banned = tonumber(ARGV[1])
if banned <= conduct.banned then return 0 end
conduct.banned, conduct.level = banned, tonumber(ARGV[2])
save_conduct(KEYS[1], conduct, now)
if now < banned * 1000 then list_ban(KEYS[2], ARGV[3], conduct, now) end
return 1
