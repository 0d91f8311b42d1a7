import { basePath } from '../../src/contract/operations.ts';
import { until } from './wait.ts';

interface ServerSentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

interface SourceOptions {
  readonly key: string;
  /** Query string, such as `type` and `after`. */
  readonly query?: string;
  readonly lastEventId?: string;
}

/** Reads an event stream (WHATWG HTML, section 9.2.6) until the stream ends or is disposed of. */
export class EventSource implements AsyncDisposable {
  readonly headers: Headers;
  readonly events: ServerSentEvent[] = [];
  comments = 0;
  retry: number | undefined;
  hasEnded = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #done: Promise<void>;
  #id = '';
  #type = '';
  #data = '';

  private constructor(response: Response) {
    this.headers = response.headers;
    this.#reader = (
      response.body as ReadableStream<Uint8Array>
    ).getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.#done = this.#read().catch(() => undefined);
  }

  /** Opens an event stream. Throws if the response is not an event stream. */
  static async open(url: string, { key, query = '', lastEventId }: SourceOptions): Promise<EventSource> {
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
    };
    const response = await fetch(`${url}${basePath}/events/stream${query}`, { headers });
    if (response.status !== 200) throw new Error(await response.text());
    const source = new EventSource(response);
    await until(() => source.retry !== undefined || source.hasEnded);
    return source;
  }

  get lastEventId(): string {
    return this.#id;
  }

  get ids(): number[] {
    return this.events.map(({ id }) => Number(id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel().catch(() => undefined);
    await this.#done;
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) return;
        const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r/);
        rest = lines.pop() ?? '';
        for (const line of lines) this.#take(line);
      }
    } finally {
      this.hasEnded = true;
    }
  }

  #take(line: string): void {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (line === '') this.#dispatch();
    else if (field === '') this.comments++;
    else if (field === 'id') this.#id = value;
    else if (field === 'event') this.#type = value;
    else if (field === 'data') this.#data += `${value}\n`;
    else if (field === 'retry') this.retry = Number(value);
  }

  #dispatch(): void {
    if (this.#data !== '')
      this.events.push({ id: this.#id, type: this.#type || 'message', data: this.#data.slice(0, -1) });
    this.#data = '';
    this.#type = '';
  }
}
