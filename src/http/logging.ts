import type { Logger } from 'pino';
import type { Logging, LoggingPatch } from '../operations/logging.ts';
import { type RequestLog, requestLogOf } from './request-log.ts';

/** What a process writes to its log, which can be changed while it runs. */
export class ProcessLogging {
  readonly #log: Logger;
  readonly #slowMs: number;
  #current: Logging;
  /** Undefined while no request is logged. */
  requestLog: RequestLog | undefined;

  /** `slowMs`: see `requestLogOf`. */
  constructor(log: Logger, requests: Logging['requests'], slowMs: number) {
    this.#log = log;
    this.#slowMs = slowMs;
    // The logger was made with a level of the settings.
    this.#current = { level: log.level as Logging['level'], requests };
    this.requestLog = requestLogOf(log, requests, slowMs);
  }

  get current(): Logging {
    return this.#current;
  }

  update({ level = this.#current.level, requests = this.#current.requests }: LoggingPatch): Logging {
    this.#current = { level, requests };
    this.#log.level = level;
    this.requestLog = requestLogOf(this.#log, requests, this.#slowMs);
    return this.#current;
  }
}
