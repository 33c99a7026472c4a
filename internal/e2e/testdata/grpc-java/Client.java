// Calls grpc.health.v1.Health/Check of the services named on the command line,
// found by xDS (GRPC_XDS_BOOTSTRAP), again and again, and prints the answers of
// all whenever one has changed. Ends when its standard input does. Started from
// its source: java -cp JARS Client.java SERVICE...

import com.google.common.io.ByteStreams;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;

class Client {
  private static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return ByteStreams.toByteArray(stream);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  };

  private static final MethodDescriptor<byte[], byte[]> CHECK = MethodDescriptor.<byte[], byte[]>newBuilder()
      .setType(MethodDescriptor.MethodType.UNARY)
      .setFullMethodName("grpc.health.v1.Health/Check")
      .setRequestMarshaller(BYTES)
      .setResponseMarshaller(BYTES)
      .build();

  private static String ask(Channel channel) {
    try {
      CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(5, TimeUnit.SECONDS);
      return "answer: " + HexFormat.of().formatHex(ClientCalls.blockingUnaryCall(channel, CHECK, options, new byte[0]));
    } catch (StatusRuntimeException e) {
      return "error: " + String.valueOf(e.getMessage()).replace('\n', ' ');
    }
  }

  public static void main(String[] services) throws Exception {
    Thread input = new Thread(() -> {
      try {
        System.in.readAllBytes();
      } catch (IOException e) {
        // as good as its end
      }
      Runtime.getRuntime().halt(0);
    });
    input.setDaemon(true);
    input.start();

    List<Channel> channels = new ArrayList<>();
    for (String service : services) {
      channels.add(Grpc.newChannelBuilder("xds:///" + service, InsecureChannelCredentials.create()).build());
    }
    for (String last = ""; ; Thread.sleep(20)) {
      List<String> answers = new ArrayList<>();
      for (Channel channel : channels) {
        answers.add(ask(channel));
      }
      String all = String.join(", ", answers);
      if (!all.equals(last)) {
        System.out.println(all);
      }
      last = all;
    }
  }
}
