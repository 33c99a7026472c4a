class Xdsproxy < Formula
  desc "Transparent debugging proxy for xDS"
  homepage "https://github.com/xdsproxy/xdsproxy"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/xdsproxy/xdsproxy/releases/download/v#{version}/xdsproxy_#{version}_darwin_arm64.tar.gz"
      sha256 "@DARWIN_ARM64@"
    end
    on_intel do
      url "https://github.com/xdsproxy/xdsproxy/releases/download/v#{version}/xdsproxy_#{version}_darwin_amd64.tar.gz"
      sha256 "@DARWIN_AMD64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/xdsproxy/xdsproxy/releases/download/v#{version}/xdsproxy_#{version}_linux_arm64.tar.gz"
      sha256 "@LINUX_ARM64@"
    end
    on_intel do
      url "https://github.com/xdsproxy/xdsproxy/releases/download/v#{version}/xdsproxy_#{version}_linux_amd64.tar.gz"
      sha256 "@LINUX_AMD64@"
    end
  end

  def install
    bin.install "xdsproxy"
    man1.install Dir["man/*.1"]
    man7.install Dir["man/*.7"]
    bash_completion.install "completions/xdsproxy.bash" => "xdsproxy"
    zsh_completion.install "completions/_xdsproxy"
    fish_completion.install "completions/xdsproxy.fish"
    doc.install "LICENSES.txt"
  end

  test do
    assert_match "xdsproxy v#{version}", shell_output("#{bin}/xdsproxy --version")
    system bin/"xdsproxy", "demo", "--once"
  end
end
