/** One end of a way between two threads or processes; what is posted arrives whole and in order, as a copy. */
export interface Port {
  post(message: unknown): void;
  listen(handler: (message: unknown) => void): void;
}
