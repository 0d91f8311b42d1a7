/** Runs the program in Node.js or Bun, and prints its results. */
import { run } from './program.js';

const [, , given = '{}'] = process.argv;
process.stdout.write(JSON.stringify(await run(JSON.parse(given))));
