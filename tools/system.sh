#!/bin/sh
# What the tests need from the system: Spin and a C compiler, to check the protocol's models.
command -v spin >/dev/null && command -v gcc >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends spin gcc libc6-dev >/dev/null
else
  echo "to check the protocol's models, install spin and gcc (Debian: apt-get install spin gcc)"
fi
