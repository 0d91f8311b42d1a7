/** Says on standard error what is being done, so that standard output holds only results. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
