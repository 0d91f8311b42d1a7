import { mediaTypes, type Operation, shown } from '../operation.ts';
import { Logging, LoggingPatch, Overview, System } from './system.ts';

const common = { tag: 'System', stability: 'beta', reads: [], errors: [] } as const;

export const systemOperations = {
  getOverview: {
    ...common,
    operationId: 'getOverview',
    method: 'GET',
    path: '/overview',
    summary: 'Get how the service is doing',
    description: 'Returns the last five minutes of this instance by second, and what is wrong now.',
    success: shown(Overview, 'How the service is doing.'),
  },
  getSystem: {
    ...common,
    operationId: 'getSystem',
    method: 'GET',
    path: '/system',
    summary: 'Get what runs and how it is set',
    description:
      'Returns versions, the store as this instance sees it, all instances, and the settings with their source.',
    success: shown(System, 'What runs and how it is set.'),
  },
  getLogging: {
    ...common,
    operationId: 'getLogging',
    method: 'GET',
    path: '/system/logging',
    summary: 'Get what is logged',
    description: 'Returns what this instance writes to its log.',
    success: shown(Logging, 'What is logged.'),
  },
  updateLogging: {
    ...common,
    operationId: 'updateLogging',
    method: 'PATCH',
    path: '/system/logging',
    summary: 'Change what is logged',
    description: 'Changes what this instance writes to its log, until it is restarted.',
    body: { schema: LoggingPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
    success: shown(Logging, 'What is logged from now on.'),
  },
} as const satisfies Readonly<Record<string, Operation>>;
