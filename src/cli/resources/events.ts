/** Commands that list and follow events. They read the store directly instead of through the service. */
import { type Command, Option } from 'commander';
import { pageLimit } from '../../contract/values.ts';
import { eventSelectors } from '../../domain/event-type.ts';
import { addCommand, jsonOption, type ReadConfig } from '../command.ts';
import { parseAssignedId, parseCountOrAll, parseEventSelectors } from '../parsers.ts';

const typesNotes = [
  'Types (a type with * selects all events of a resource):',
  ...Map.groupBy(eventSelectors, (selector) => /^[a-z]+?(?=s?\.)/.exec(selector)?.[0])
    .values()
    .map((selectors) => `  ${selectors.join(', ')}`),
  '',
];

export function addEventCommands(events: Command, config: ReadConfig): void {
  withTypes(
    addCommand(events, 'list', {
      summary: 'List events, newest first, or oldest first with --after.',
      examples: [
        'animal-store events list --type order.*',
        'animal-store events list --after 41 --limit all --json',
        'animal-store events list --order asc',
      ],
      notes: [
        ...typesNotes,
        `A newest-first list contains at most ${pageLimit.max} events, selected from the newest 500 events of all types.`,
      ],
    }),
  )
    .option('--limit <number>', 'number of items to list, or all', parseCountOrAll, pageLimit.default)
    .addOption(new Option('--order <order>', 'newest first (desc) or oldest first').choices(['asc', 'desc']))
    .addOption(jsonOption())
    .action(async (options) => (await import('./event-output.ts')).listEvents(config(), options));
  withTypes(
    addCommand(events, 'tail', {
      summary: 'Show events as they are recorded, until Ctrl+C.',
      examples: ['animal-store events tail', 'animal-store events tail --type pet.*,order.placed --json'],
      notes: [
        ...typesNotes,
        'Without --after, the output begins with the next event.',
        'The exit code is 1 if some of the events after --after have been deleted.',
      ],
    }),
  )
    .option('--json', 'print each event as one line of JSON')
    .action(async (options) => (await import('./event-output.ts')).tailEvents(config(), options));
}

function withTypes(command: Command): Command {
  return command
    .option('--type <types>', 'only events of these types, separated by commas', parseEventSelectors)
    .option('--after <event-id>', 'only events after this id', parseAssignedId);
}
