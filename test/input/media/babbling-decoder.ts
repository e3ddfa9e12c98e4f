// A decoder that announces a frame of four gigabytes.
process.stdout.write(Buffer.from([1, 255, 255, 255, 255]));
process.stdin.resume();
