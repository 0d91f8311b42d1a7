import * as z from 'zod';
import { bodyError, count, instant, oneOf } from '../values.ts';

const microseconds = z.number().min(0).nullable();

export const TrafficSecond = z
  .object({
    at: instant('When the second begins, UTC.'),
    ok: count,
    refused: count,
    limited: count,
    failed: count,
    p50: microseconds.meta({ description: 'Median time to answer, in microseconds; null without requests.' }),
    p99: microseconds.meta({ description: '99th percentile of the same.' }),
  })
  .meta({ id: 'TrafficSecond', description: 'What was answered in a second.' });

export const Concern = z
  .object({
    what: z.string().meta({ description: 'What is wrong, in a sentence.' }),
    remedy: z.string().meta({ description: 'What to do about it.' }),
  })
  .meta({ id: 'Concern', description: 'Something that needs an operator.' });

export const Overview = z
  .object({
    seconds: z
      .array(TrafficSecond)
      .meta({ description: 'The last five minutes of this instance, oldest first.' }),
    inFlight: count.meta({ description: 'Requests under way.' }),
    bans: count.meta({ description: 'Keys that are banned now.' }),
    inventory: z.object({ available: count, pending: count, sold: count }),
    concerns: z.array(Concern).meta({ description: 'What is wrong now; empty when all is well.' }),
  })
  .meta({ id: 'Overview', description: 'How the service is doing.' });

export const settingSources = ['default', 'environment', 'changed'] as const;

export const Setting = z
  .object({
    name: z.string(),
    value: z.string().meta({ description: 'The value; passwords are masked.' }),
    source: z.enum(settingSources).meta({ description: 'Where the value is from.' }),
    about: z.string().meta({ description: 'What it does.' }),
  })
  .meta({ id: 'Setting', description: 'A setting of the service.' });

export const Instance = z
  .object({
    name: z.string().meta({ description: 'Name of the instance.' }),
    version: z.string().meta({ description: 'Version of the service that it runs.' }),
    startedAt: instant('When it started, UTC.'),
    seenAt: instant('When it last gave a sign of life, UTC.'),
  })
  .meta({ id: 'Instance', description: 'A process of the service, with its workers.' });

const fact = z.union([z.string(), z.number(), z.boolean(), z.null()]);

export const System = z
  .object({
    version: z.string().meta({ description: 'Version of the service.' }),
    runtime: z.string().meta({ description: 'Version of the runtime.' }),
    startedAt: instant('When this instance started, UTC.'),
    workers: count.meta({ description: 'Processes that serve requests.' }),
    memoryBytes: count.meta({ description: 'Memory of all of them.' }),
    troubles: z.array(z.string()).meta({ description: 'What does not work now.' }),
    store: z
      .record(z.string(), fact)
      .meta({ description: 'Facts of the store: engine, format, sizes, groups that were committed.' }),
    instances: z.array(Instance).meta({ description: 'All instances of this store.' }),
    settings: z.array(Setting),
  })
  .meta({ id: 'System', description: 'What runs, on what, and how it is set.' });

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export const loggedRequests = ['all', 'errors', 'slow', 'off'] as const;

export const Logging = z
  .object({
    level: z.enum(logLevels).meta({ description: 'Lines below this level are not written.' }),
    requests: z.enum(loggedRequests).meta({ description: 'Which requests get a line.' }),
  })
  .meta({ id: 'Logging', description: 'What this instance writes to its log.' });

export const LoggingPatch = z
  .strictObject(
    {
      level: z.enum(logLevels, { error: oneOf(logLevels) }).optional(),
      requests: z.enum(loggedRequests, { error: oneOf(loggedRequests) }).optional(),
    },
    { error: bodyError('a change of the log', 'level and requests') },
  )
  .meta({ id: 'LoggingPatch', description: 'What to change about the log.' });

export type Overview = z.infer<typeof Overview>;
export type TrafficSecond = z.infer<typeof TrafficSecond>;
export type Concern = z.infer<typeof Concern>;
export type System = z.infer<typeof System>;
export type Instance = z.infer<typeof Instance>;
export type Setting = z.infer<typeof Setting>;
export type Logging = z.infer<typeof Logging>;
