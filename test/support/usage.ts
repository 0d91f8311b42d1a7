import type { ReportNumber } from '../../src/tables/usage.ts';

let reports = 0;

/** Returns a unique report number. */
export function newReport(reportedAt: number): ReportNumber {
  return { process: 'test', number: ++reports, reportedAt };
}
