-- Restores a ban that Redis has lost. If callers changed since the ban was read, it may have been lifted. In that case,
-- the script does nothing and returns 0.
-- KEYS: penalty of the key, bans, version of callers, clock
-- ARGV: the end of the ban in Unix seconds, its level, "key:account", version of callers, 1 if PostgreSQL may lack the
-- ban, time (see `present`)
local now, shown_by = present(KEYS[4], redis.call('GET', KEYS[4]), 6)
if tonumber(ARGV[4]) ~= version(redis.call('GET', KEYS[3])) then return 0 end
local from, till, known, known_level = penalty_of(redis.call('GET', KEYS[1]))
local saved_end, level = tonumber(ARGV[1]) - shown_by, tonumber(ARGV[2])
-- If Redis has a current ban, it is the same ban. Its end differs if the clock was stepped.
if now < known * 1000 or not is_later_ban(saved_end, level, known, known_level, now) then return 1 end
-- Limits the ban to the duration of its level, in case the clock was set back after the ban was saved.
local banned = math.min(saved_end, math.floor(now / 1000) + ban_seconds(level))
if banned <= known then return 1 end
save_penalty(KEYS[1], from, till, banned, level, now)
if now >= banned * 1000 then return 1 end
list_ban(KEYS[2], ARGV[3], banned, level, now)
if ARGV[5] == '1' then list_ban(unsaved_bans(KEYS[2]), ARGV[3], banned, level, now) end
return 1
