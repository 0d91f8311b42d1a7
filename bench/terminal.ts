/** Prints progress to standard error, so that standard output contains only results. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
