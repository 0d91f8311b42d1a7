import type { ReportNumber } from '../../src/tables/usage.ts';

let reports = 0;

/** The number of a report that no other one has. */
export function newReport(reportedAt: number): ReportNumber {
  return { process: 'test', number: ++reports, reportedAt };
}
