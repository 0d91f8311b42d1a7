import { statSync } from 'node:fs';
import { expectStored, limitFileSize } from '../faults/disk.ts';
import { type Client, clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, startService } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import type { StressTest } from './stress-test.ts';

const writers = 8;
/** The write-ahead log may grow by up to this many bytes before the disk refuses: several commits. */
const mostBytesLeft = 60_000;

/** Adds animals until told to stop, and keeps what was acknowledged. A refusal is counted; anything else is thrown. */
class Load {
  readonly stored = new Map<string, number>();
  refused = 0;
  reads = 0;
  #stopping = false;

  async run(client: Client, prefix: string): Promise<void> {
    this.#stopping = false;
    const write = async (writer: number) => {
      for (let number = 0; !this.#stopping; number++) {
        const { status, text } = await client.add(`${prefix}-${writer}-${number}`);
        if (status === 201) this.#keep(JSON.parse(text));
        else if (status === 503) this.refused++;
        else throw new Error(`A creation was answered ${status}: ${text}`);
      }
    };
    const read = async () => {
      while (!this.#stopping) {
        const { status } = await client.get('/pets?limit=5');
        if (status !== 200) throw new Error(`A read was answered ${status}.`);
        this.reads++;
      }
    };
    await Promise.all([read(), ...Array.from({ length: writers }, (_, writer) => write(writer))]);
  }

  stop(): void {
    this.#stopping = true;
  }

  #keep({ id, name }: { id: number; name: string }): void {
    this.stored.set(name, id);
  }
}

export const disk: StressTest = {
  name: 'disk',
  promise:
    'a disk that refuses writes at any byte stores exactly what is acknowledged, and every read is answered',
  rounds: 30,
  async run({ rounds, seed, progress }) {
    const random = randomFrom(seed);
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { LOG_LEVEL: 'silent' });
    const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
    const load = new Load();
    for (let round = 1; round <= rounds; round++) {
      const running = load.run(client, `round ${round}`);
      await Bun.sleep(50 + random() * 100);
      const size = statSync(`${dataFileIn(folder.path)}-wal`).size;
      limitFileSize(service.pid, Math.floor(size * random() + mostBytesLeft * random()));
      await Bun.sleep(50 + random() * 150);
      limitFileSize(service.pid, 'unlimited');
      await Bun.sleep(50);
      load.stop();
      await running;
      expectStored(folder.path, load.stored);
      progress(`round ${round} of ${rounds}: ${load.stored.size} kept, ${load.refused} refused`);
    }
    service.signal('SIGKILL');
    await service.exited;
    await using _again = await startService(folder.path);
    expectStored(folder.path, load.stored);
    return {
      'animals kept': load.stored.size,
      'creations refused': load.refused,
      'reads answered': load.reads,
    };
  },
};
