/** Runs the program where there are processes, and prints what it saw. */
import { run } from './program.js';

const [, , given = '{}'] = process.argv;
process.stdout.write(JSON.stringify(await run(JSON.parse(given))));
