"""The shared counters in Valkey: one script that takes, gives back and renews for many keys.

Of each key a hash holds what is left of its minute (`rl`, `tl`), when that was true (`at`), and of
each process what it has in hand and until when (`p:<process>`). What is in hand counts as left, so
a minute's limit never grows by being handed out; when its lease ends, places are free again, while
what was in hand of a minute comes back only as time passes, for it may have been used.
"""

from collections.abc import Sequence
from hashlib import sha1

from workers.gateway.limit_holding import Answer, Question

PREFIX = "enginehouse:limits"
PRESENT = f"{PREFIX}:processes"
"""Sorted set: each process until when it is taken to be there."""
LEASE_SECONDS = 10.0
NO_LIMIT = -1
SCRIPT = """
local now, process, lease, leaves = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4]
if now < 0 then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end
local function text(number) return string.format('%.6f', number) end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now))
if leaves == '1' then redis.call('ZREM', KEYS[1], process)
else redis.call('ZADD', KEYS[1], text(now + lease), process) end
local told = {tostring(redis.call('ZCARD', KEYS[1]))}

for i = 2, #KEYS do
  local name, first = KEYS[i], 4 + (i - 2) * 11
  local function given(n) return tonumber(ARGV[first + n]) end
  local left, elsewhere = {}, {requests = 0, tokens = 0, places = 0}
  local stored = redis.call('HGETALL', name)
  for j = 1, #stored, 2 do
    local field, value = stored[j], stored[j + 1]
    if string.sub(field, 1, 2) ~= 'p:' then
      left[field] = tonumber(value)
    elseif field ~= 'p:' .. process then
      local ends, requests, tokens, places = string.match(value, '^(%S+) (%S+) (%S+) (%S+)$')
      if tonumber(ends) <= now then
        redis.call('HDEL', name, field)
      else
        elsewhere.requests = elsewhere.requests + tonumber(requests)
        elsewhere.tokens = elsewhere.tokens + tonumber(tokens)
        elsewhere.places = elsewhere.places + tonumber(places)
      end
    end
  end
  local passed, longest = math.max(0, now - (left.at or now)), lease

  local function take(field, per_minute, back, wanted, held, others)
    if per_minute < 0 then return 0, 0 end
    local most = per_minute - held - others
    local here = math.min(most, (left[field] or most) + passed * per_minute / 60)
    here = math.min(most, here + back)
    local got = math.min(wanted, math.max(0, here))
    if field == 'rl' then got = math.floor(got) end
    here = here - got
    redis.call('HSET', name, field, text(here))
    if per_minute > 0 then longest = math.max(longest, (per_minute - here) * 60 / per_minute) end
    return got, here
  end

  local requests, requests_left = take(
    'rl', given(1), given(2), given(3), given(4), elsewhere.requests)
  local tokens, tokens_left = take(
    'tl', given(5), given(6), given(7), given(8), elsewhere.tokens)
  local parallel, running, wanted = given(9), given(10), given(11)
  local places = running
  if parallel >= 0 then
    places = math.max(running, math.min(wanted, parallel - elsewhere.places))
  end
  local held_requests, held_tokens = given(4) + requests, given(8) + tokens
  if held_requests + held_tokens + places > 0 then
    redis.call('HSET', name, 'p:' .. process, table.concat(
      {text(now + lease), text(held_requests), text(held_tokens), tostring(places)}, ' '))
  else
    redis.call('HDEL', name, 'p:' .. process)
  end
  redis.call('HSET', name, 'at', text(now))
  redis.call('PEXPIRE', name, math.ceil(longest + lease) * 1000)
  for _, each in ipairs(
    {requests, requests_left, tokens, tokens_left, places, elsewhere.places}) do
    table.insert(told, text(each))
  end
end
return told
"""
SHA1 = sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()
_FIELDS = 6


def arguments(
    process: str, questions: Sequence[Question], *, now: float | None, leaves: bool = False
) -> tuple[list[str], list[str]]:
    """Return the script's keys and arguments; Valkey's own clock counts where `now` is None."""
    keys = [PRESENT, *(f"{PREFIX}:{question.key.id}" for question in questions)]
    first = ["-1" if now is None else f"{now:.6f}", process, f"{LEASE_SECONDS}"]
    values = [*first, "1" if leaves else "0"]
    for question in questions:
        values += [f"{each:.6f}" for each in _numbers(question)]
    return keys, values


def read_answers(values: Sequence[bytes | str]) -> tuple[int, list[Answer]]:
    """Return how many processes there are, and what was answered to each question."""
    processes, *rest = (float(each) for each in values)
    return int(processes), [_answer(*row) for row in zip(*[iter(rest)] * _FIELDS, strict=True)]


def _answer(
    requests: float,
    requests_left: float,
    tokens: float,
    tokens_left: float,
    places: float,
    elsewhere: float,
) -> Answer:
    return Answer(requests, requests_left, tokens, tokens_left, int(places), int(elsewhere))


def _numbers(question: Question) -> tuple[float, ...]:
    key = question.key
    return (
        _limit(key.requests_per_minute), question.back_requests, question.wanted_requests,
        question.held_requests,
        _limit(key.tokens_per_minute), question.back_tokens, question.wanted_tokens,
        question.held_tokens,
        _limit(key.parallel_requests), question.running, question.wanted_places,
    )  # fmt: skip


def _limit(limit: int | None) -> int:
    return NO_LIMIT if limit is None else limit
