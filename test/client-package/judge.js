/** Prints the reports of package linters on a tarball as JSON: `judge.js TARBALL`. */
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';

const [tarball = ''] = process.argv.slice(2);
const file = Bun.file(tarball);
const { messages } = await publint({ pack: { tarball: await file.arrayBuffer() }, strict: true });
const checked = await checkPackage(createPackageFromTarballData(await file.bytes()));
const problems = 'problems' in checked ? checked.problems : [];
console.log(JSON.stringify({ messages, types: checked.types, problems: problems.map(({ kind }) => kind) }));
