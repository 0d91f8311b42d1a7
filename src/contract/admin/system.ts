import * as z from 'zod';
import { defineOperations, mediaTypes, okJson } from '../operation.ts';
import { bodySchema, count, enumSchema, instant, objectSchema } from '../values.ts';

const microseconds = z.number().min(0).nullable();

export const TrafficSecond = objectSchema('TrafficSecond', 'Responses in one second.', {
  at: instant('Start of the second (UTC).'),
  ok: count,
  refused: count,
  limited: count,
  failed: count,
  p50: microseconds.describe('Median latency in microseconds; null if there were no requests.'),
  p95: microseconds.describe(
    '95th percentile of the latency in microseconds; null if there were no requests.',
  ),
  p99: microseconds.describe(
    '99th percentile of the latency in microseconds; null if there were no requests.',
  ),
});

export const Concern = objectSchema('Concern', "A problem that needs an operator's attention.", {
  what: z.string().describe('Description of the problem in one sentence.'),
  remedy: z.string().describe('The remedy.'),
});

export const Overview = objectSchema('Overview', 'The status of the service.', {
  seconds: z
    .array(TrafficSecond)
    .describe('Statistics of this instance for the last five minutes, oldest first.'),
  inFlight: count.describe('Number of requests in flight.'),
  bans: count.describe('Number of banned keys.'),
  inventory: z.object({ available: count, pending: count, sold: count }),
  concerns: z.array(Concern).describe('Current problems; empty if there are none.'),
});

const settingSources = ['default', 'environment', 'changed'] as const;

export const Setting = objectSchema('Setting', 'A setting of the service.', {
  name: z.string(),
  value: z.string().describe('Value of the setting. Passwords are masked.'),
  source: z.enum(settingSources).describe('Source of the value.'),
  about: z.string().describe('Description of the setting.'),
});

const Instance = objectSchema('Instance', 'An instance of the service: a process and its workers.', {
  name: z.string().describe('Name of the instance.'),
  version: z.string().describe('Version of the service.'),
  startedAt: instant('Time when the instance started (UTC).'),
  seenAt: instant('Time of the last heartbeat (UTC).'),
});

const fact = z.union([z.string(), z.number(), z.boolean(), z.null()]);

export const System = objectSchema('System', 'Versions, instances and settings of the service.', {
  version: z.string().describe('Version of the service.'),
  runtime: z.string().describe('Version of the runtime.'),
  apiUrl: z
    .string()
    .describe('URL of the service for clients (`PUBLIC_URL`, or the address of this instance).'),
  startedAt: instant('Time when this instance started (UTC).'),
  workers: count.describe('Number of processes that serve requests.'),
  memoryBytes: count.describe('Memory used by these processes.'),
  troubles: z.array(z.string()).describe('Current failures.'),
  store: z.record(z.string(), fact).describe('Details of the store: engine, format, sizes and statistics.'),
  instances: z.array(Instance).describe('All instances of this store.'),
  settings: z.array(Setting),
});

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export const loggedRequests = ['all', 'errors', 'slow', 'off'] as const;

export const Logging = objectSchema('Logging', 'Log settings of this instance.', {
  level: z.enum(logLevels).describe('Messages below this level are not logged.'),
  requests: z.enum(loggedRequests).describe('Which requests are logged.'),
});

const LoggingPatch = bodySchema(
  'LoggingPatch',
  'Changes to the log settings.',
  'a change to the log settings',
  {
    level: enumSchema(logLevels).optional(),
    requests: enumSchema(loggedRequests).optional(),
  },
);

export type Overview = z.infer<typeof Overview>;
export type TrafficSecond = z.infer<typeof TrafficSecond>;
export type Concern = z.infer<typeof Concern>;
export type System = z.infer<typeof System>;
export type Setting = z.infer<typeof Setting>;
export type Logging = z.infer<typeof Logging>;

export const systemOperations = defineOperations(
  { tag: { name: 'System', description: 'Status and settings of the service.' } },
  {
    getOverview: {
      route: 'GET /overview',
      summary: 'Get the status of the service',
      description:
        'Returns statistics of this instance for each second of the last five minutes, and current problems.',
      success: okJson(Overview, 'The status of the service.'),
    },
    getSystem: {
      route: 'GET /system',
      summary: 'Get versions, instances and settings',
      description:
        'Returns versions, details of the store, all instances, and every setting with its source.',
      success: okJson(System, 'The versions, instances and settings.'),
    },
    getLogging: {
      route: 'GET /system/logging',
      summary: 'Get the log settings',
      description: 'Returns the log settings of this instance.',
      success: okJson(Logging, 'The log settings.'),
    },
    updateLogging: {
      route: 'PATCH /system/logging',
      summary: 'Change the log settings',
      description: 'Changes the log settings of this instance until it restarts.',
      body: { schema: LoggingPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
      success: okJson(Logging, 'The new log settings.'),
    },
  },
);
