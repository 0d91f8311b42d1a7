-- Decides and counts one request: `decide` in limits/limit.ts.
-- KEYS: versions of the resources, usage of the account, penalty of the key, clock, strikes of the key, bans
-- ARGV: version of callers when the caller was read, limit per minute, limit per day, "key:account", name of the
-- process, increasing number of the request; time (see `present`)
-- The reply contains Unix times, and ends with the values from which the instance predicts the time.
local usage_key, penalty_key, clock_key, strikes_key, bans_key = unpack(KEYS, resources.count + 1)
local values = redis.call('MGET', unpack(KEYS, 1, resources.count + 3))
local versions = versions_of(values)
local usage, penalty, clock = unpack(values, resources.count + 1, resources.count + 3)
if versions[1] ~= tonumber(ARGV[1]) then return { replyKinds.stale, versions } end
if not usage then return { replyKinds.unknown, versions } end
local process_at, last = last_number(usage, ARGV[5])
if tonumber(ARGV[6]) <= last then return { replyKinds.overtaken, versions } end

local per_minute, per_day = tonumber(ARGV[2]), tonumber(ARGV[3])
local now, shown_by, ahead, epoch = present(clock_key, clock, 7)
local second = math.floor(now / 1000)
local old_minute_at, old_minute_count, old_day_at, old_day_count = usage_of(usage)
local minute_at, minute_count = rolled(old_minute_at, old_minute_count, minute_seconds, second)
local day_at, day_count = rolled(old_day_at, old_day_count, day_seconds, second)
local from, till, banned, level = penalty_of(penalty)

local kind
if minute_count < per_minute and day_count < per_day and second >= banned then
  minute_count, day_count = minute_count + 1, day_count + 1
  local numbers = numbers_with(usage, process_at, ARGV[5], ARGV[6])
  if day_at == old_day_at then
    redis.call('SET', usage_key, struct.pack('dddd', minute_at, minute_count, day_at, day_count) .. numbers, 'KEEPTTL')
  else
    save_usage(usage_key, minute_at, minute_count, day_at, day_count, numbers, now)
  end
  if till ~= 0 then
    from, till = 0, 0
    save_penalty(penalty_key, from, till, banned, level, now)
  end
  kind = replyKinds.admitted
end

-- Fast path: the clock was never stepped, and the instance knows the epoch.
if kind and ahead == 0 and tonumber(ARGV[7]) == epoch then
  return { kind, versions, now, minute_at, minute_count, day_at, day_count, from, till, banned, level }
end

local function reply(kind)
  local by_ms = shown_by * 1000
  return {
    kind, versions, now + by_ms, minute_at + shown_by, minute_count, day_at + shown_by, day_count,
    moved(from, by_ms), moved(till, by_ms), moved(banned, shown_by), level, ahead, epoch,
  }
end

if kind then return reply(kind) end

local function ban()
  level = banned > 0 and second < banned + rules.forgiven_after and level + 1 or 0
  banned = second + ban_seconds(level)
  from, till = 0, 0
  redis.call('DEL', strikes_key)
  save_penalty(penalty_key, from, till, banned, level, now)
  list_ban(bans_key, ARGV[4], banned, level, now)
  list_ban(unsaved_bans(bans_key), ARGV[4], banned, level, now)
  return replyKinds.newly_banned
end

local function strike()
  -- The list is sorted, because strikes later than now are removed before one is added.
  local first, last = redis.call('LINDEX', strikes_key, 0), redis.call('LINDEX', strikes_key, -1)
  while first and tonumber(first) < now - rules.within * 1000 do
    redis.call('LPOP', strikes_key)
    first = redis.call('LINDEX', strikes_key, 0)
  end
  while last and tonumber(last) > now do
    redis.call('RPOP', strikes_key)
    last = redis.call('LINDEX', strikes_key, -1)
  end
  if redis.call('LLEN', strikes_key) + 1 >= rules.strikes then return ban() end
  redis.call('RPUSH', strikes_key, text(now))
  redis.call('PEXPIRE', strikes_key, text(rules.within * 1000 + kept_ms))
  return replyKinds.exhausted
end

local function penalize()
  if now >= till or now < from then
    local minute_left, day_left = math.max(0, per_minute - minute_count), math.max(0, per_day - day_count)
    local minute_ends, day_ends = minute_at + minute_seconds, day_at + day_seconds
    local day_binds = day_left == 0 and (minute_left > 0 or day_ends >= minute_ends)
    local retry = math.max(1, math.ceil((day_binds and day_ends or minute_ends) - now / 1000))
    from, till = now, now + retry * 1000
    save_penalty(penalty_key, from, till, banned, level, now)
    return replyKinds.exhausted
  end
  -- Requests rejected within a second of the episode's first 429 were already in flight.
  if now < from + 1000 then return replyKinds.exhausted end
  return strike()
end

if second < banned then return reply(replyKinds.banned) end
kind = penalize()
-- Only counted requests open windows. A rejected request leaves a closed window unchanged.
local kept_minute_at, kept_minute_count = minute_at, minute_count
local kept_day_at, kept_day_count = day_at, day_count
if minute_count == 0 then kept_minute_at, kept_minute_count = old_minute_at, old_minute_count end
if day_count == 0 then kept_day_at, kept_day_count = old_day_at, old_day_count end
if kept_minute_at ~= old_minute_at or kept_day_at ~= old_day_at then
  save_usage(usage_key, kept_minute_at, kept_minute_count, kept_day_at, kept_day_count, numbers_of(usage), now)
end
return reply(kind)
