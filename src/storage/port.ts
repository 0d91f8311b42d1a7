/** A way for messages between two threads or processes; what is posted arrives whole, once and in order, or not at all. */
export interface Port {
  post(message: unknown): void;
  listen(handler: (message: unknown) => void): void;
}
