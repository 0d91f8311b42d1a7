/** Generates parts of `docs/`: tables, examples of errors, and the help texts of all commands. */
import { generatedDocs } from './generated-docs.ts';

for (const { path, text } of await generatedDocs()) await Bun.write(path, text);
