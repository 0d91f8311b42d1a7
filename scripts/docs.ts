/** Generates parts of `docs/`: tables, examples of errors, and the help texts of all commands. */
import { generateDocs } from './generate-docs.ts';

for (const { path, text } of await generateDocs()) await Bun.write(path, text);
